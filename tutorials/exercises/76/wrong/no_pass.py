# message: PIPELINE is no pipeline
PIPELINE = "inline,fuse"
