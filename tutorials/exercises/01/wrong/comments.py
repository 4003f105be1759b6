# message: words gives a wrong result
import re


def words(text):
    text = re.sub(r"/\*.*\*/", " ", text)  # up to the last end of a comment
    return re.findall(r"->|-?\d+|[A-Za-z_][\w.]*|\S", text)
