# message: words gives a wrong result
import re


def words(text):
    text = re.sub(r"/\*.*?\*/", " ", text)
    return re.findall(r"-?\d+|[A-Za-z_][\w.]*|\S", text)
