"""Derivatives of modules: a rule an opcode, forwards; and for linear opcodes one backwards."""

from optimizer.derivative.custom_calls import custom_call_derivative
from optimizer.derivative.table import differentiates, transposes

__all__ = ["custom_call_derivative", "differentiates", "transposes"]
