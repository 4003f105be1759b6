# message: 'times_one' is not the rule that is wrong
REWRITE = 1
RULE = "times_one"
