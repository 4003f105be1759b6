# message: PIPELINE has 9 passes where 8 would do
PIPELINE = "inline,dce,cse,dce,cse,algebraic-simplifier,dce,cse,fusion"
