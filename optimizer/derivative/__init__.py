"""Derivatives of modules: a rule an opcode, forwards; and for linear opcodes one backwards."""

from optimizer.derivative.custom_calls import custom_call_derivative, custom_call_transpose
from optimizer.derivative.table import differentiates, transposes

__all__ = ["custom_call_derivative", "custom_call_transpose", "differentiates", "transposes"]
