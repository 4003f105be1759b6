# message: 'transpose_of_transpose' is not the rule that is wrong
REWRITE = 1
RULE = "transpose_of_transpose"
