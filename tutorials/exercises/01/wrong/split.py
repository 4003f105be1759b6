# message: words gives a wrong result
def words(text):
    return text.split()
