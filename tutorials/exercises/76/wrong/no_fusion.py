# message: PIPELINE moves
PIPELINE = "inline,fix(algebraic-simplifier,cse,dce)"
