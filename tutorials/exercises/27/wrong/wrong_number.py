# message: the rule is right, but not the rewrite: 1
REWRITE = 1
RULE = "division_by_constant"
