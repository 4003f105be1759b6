"""Expanders of sort and topk."""
