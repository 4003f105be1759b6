"""The stepper at a prompt, with the commands of pdb, and from a script."""

from __future__ import annotations

import cmd
from typing import IO, TYPE_CHECKING, Final

from hlo.errors.error import HloError, did_you_mean
from hlo_tools.step.shown import Shown, StyledLine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hlo_tools.step.stepper import Stepper

# Other names of commands; most of them are pdb's.
SHORT: Final = {
    "n": "next",
    "s": "next",
    "step": "next",
    "c": "continue",
    "cont": "continue",
    "r": "return",
    "u": "undo",
    "back": "undo",
    "up": "undo",
    "j": "jump",
    "b": "break",
    "cl": "clear",
    "w": "where",
    "bt": "where",
    "l": "list",
    "ll": "longlist",
    "d": "diff",
    "p": "print",
    "a": "args",
    "h": "help",
    "q": "quit",
    "exit": "quit",
    "EOF": "quit",
}


class Console(cmd.Cmd):
    """Reads commands and shows their answers.

    Parameters
    ----------
    colours : whether the output is a terminal that shows them.
    echo : write each command after the prompt, as if it had been typed: scripts are read so.

    Attributes
    ----------
    failed : whether any command made no sense.
    """

    prompt = "(hlo) "

    def __init__(
        self, stepper: Stepper, output: IO[str], *, colours: bool = False, echo: bool = False
    ) -> None:
        super().__init__(stdout=output)
        self.stepper, self.colours, self.echo = stepper, colours, echo
        self.failed = False

    # ------------------------------------------------------------------------------ running it

    def run_script(self, lines: Iterable[str]) -> None:
        """Run commands, a line each; `#` begins a comment."""
        for line in lines:
            command = line.strip()
            if command and not command.startswith("#") and self.onecmd(command):
                return

    def run_at_terminal(self) -> None:
        """Read commands until the user has enough; Ctrl-C ends a command, and nothing else."""
        self.show(self.stepper.welcome())
        while True:
            try:
                self.cmdloop()
            except KeyboardInterrupt:
                self.stdout.write("\n(interrupted; q quits)\n")
            else:
                return

    def onecmd(self, line: str) -> bool:
        """Run one command; gives whether it was the last."""
        if not line.strip():
            return self.emptyline()
        word, _, rest = line.strip().partition(" ")
        if self.echo:
            self.stdout.write(f"{self.prompt}{line.strip()}\n")
        try:
            return bool(self.command(word)(rest.strip()))
        except HloError as error:
            self.failed = True
            self.show(Shown([StyledLine(text, "gone") for text in str(error).splitlines()]))
            return False

    def command(self, word: str) -> Callable[[str], bool | None]:
        """The function of a command, by its name or a short one.

        Raises
        ------
        HloError
            HLO204 if there is none.
        """
        run = getattr(self, f"do_{SHORT.get(word, word)}", None)
        if run is None:
            known = [n.removeprefix("do_") for n in self.get_names() if n.startswith("do_")]
            notes = did_you_mean(word, [*known, *SHORT]) or ("`help` lists the commands",)
            raise HloError("HLO204", f"there is no command `{word}`", notes=notes)
        return run

    def completenames(self, text: str, *ignored: object) -> list[str]:  # noqa: ARG002
        """The commands that begin so."""
        return [n.removeprefix("do_") for n in self.get_names() if n.startswith(f"do_{text}")]

    def completedefault(self, *words: str) -> list[str]:
        """The instructions whose names begin so, for whatever takes one."""
        text = words[0] if words else ""
        return [i.name for i in self.stepper.module.instructions() if i.name.startswith(text)]

    def emptyline(self) -> bool:
        """Do the last command again, as pdb does."""
        return self.onecmd(self.lastcmd) if self.lastcmd else False

    def precmd(self, line: str) -> str:
        """Keep the command for an empty line."""
        if line.strip() and line != "EOF":
            self.lastcmd = line
        return line

    def show(self, shown: Shown) -> None:
        """Write some lines."""
        self.stdout.write((shown.ansi() if self.colours else str(shown)) + "\n")

    # ---------------------------------------------------------------------------------- moving

    def do_next(self, words: str) -> None:
        """n(ext) [COUNT]: do the next change, a single rewrite or a pass over a kernel."""
        self.show(self.stepper.next(number(words, 1, least=1)))

    def do_undo(self, words: str) -> None:
        """u(ndo) [COUNT]: take back the last change."""
        self.show(self.stepper.back(number(words, 1, least=1)))

    def do_continue(self, words: str) -> None:
        """c(ontinue): go to the next breakpoint; where none is set, to the end of the next pass."""
        nothing("continue", words)
        self.show(self.stepper.cont())

    def do_return(self, words: str) -> None:
        """r(eturn): run the pass to its end."""
        nothing("return", words)
        self.show(self.stepper.finish())

    def do_jump(self, words: str) -> None:
        """j(ump) NUMBER: go to a change, forwards or backwards; 0 is the beginning."""
        self.show(self.stepper.go(number(words)))

    def do_bisect(self, words: str) -> None:
        """bisect: go to the first rewrite that makes the result wrong by itself."""
        nothing("bisect", words)
        self.show(self.stepper.bisect())

    # ----------------------------------------------------------------------------- breakpoints

    def do_break(self, words: str) -> None:
        """b(reak) RULE | PASS | %INSTR | OPCODE | nan | divergence | change [%INSTR]: stop there.

        Without words, list the breakpoints. A pass may be one over kernels. `nan` stops where the
        first NaN arises, `divergence` where the result is not what it was at first, `change` where
        any instruction's value changes.
        """
        self.show(self.stepper.breakpoint(words))

    def do_clear(self, words: str) -> None:
        """cl(ear) [NUMBER]: remove a breakpoint, or all of them."""
        self.show(self.stepper.clear(number(words, least=1) if words else 0))

    # ---------------------------------------------------------------------------------- looking

    def do_where(self, words: str) -> None:
        """w(here): list the passes that change something, with an arrow at the running one."""
        nothing("where", words)
        self.show(self.stepper.where())

    def do_list(self, words: str) -> None:
        """l(ist) [NAME]: print a computation, `-` and `+` before lines of the last change."""
        self.show(self.stepper.list(words))

    def do_longlist(self, words: str) -> None:
        """ll: print the whole module."""
        nothing("ll", words)
        self.show(self.stepper.list(whole=True))

    def do_diff(self, words: str) -> None:
        """d(iff): print the last change again."""
        nothing("diff", words)
        self.show(self.stepper.change())

    def do_print(self, words: str) -> None:
        """p(rint) INSTR: print an instruction's value before and after the last change."""
        self.show(self.stepper.value(one("p INSTR", words)))

    def do_whatis(self, words: str) -> None:
        """Whatis INSTR: print an instruction's shape, opcode, users and origin."""
        self.show(self.stepper.what_is(one("whatis INSTR", words)))

    def do_args(self, words: str) -> None:
        """a(rgs): print the instructions that the variables of the last rule stand for."""
        nothing("args", words)
        self.show(self.stepper.variables())

    def do_source(self, words: str) -> None:
        """Source [RULE]: print the rule, pass or function that made the last change."""
        self.show(self.stepper.source(words))

    def do_why(self, words: str) -> None:
        """Why RULE INSTR: tell why a rule, or rules with this text, do not apply there now."""
        rule, _, name = words.rpartition(" ")
        if not rule.strip():
            raise HloError("HLO204", "why needs a rule and an instruction: why RULE INSTR")
        self.show(self.stepper.why(rule.strip(), name))

    def do_help(self, arg: str) -> None:
        """h(elp) [COMMAND]: list the commands, or describe one."""
        known = sorted(n.removeprefix("do_") for n in self.get_names() if n.startswith("do_"))
        for name in [arg] if arg else known:
            lines = [line.strip() for line in (self.command(name).__doc__ or "").splitlines()]
            # A command is written small, and a sentence begins with a capital.
            lines[0] = lines[0][:1].lower() + lines[0][1:]
            self.stdout.write(("\n".join(lines) if arg else lines[0]).rstrip() + "\n")

    def do_quit(self, words: str) -> bool:
        """q(uit): end, as Ctrl-D does."""
        nothing("quit", words)
        return True


def number(words: str, default: int | None = None, *, least: int = 0) -> int:
    """A whole number that is not less than another.

    Raises
    ------
    HloError
        HLO204 if it is something else.
    """
    if not words and default is not None:
        return default
    if not words.isdecimal() or int(words) < least:
        raise HloError("HLO204", f"`{words}` is no whole number from {least} on")
    return int(words)


def nothing(command: str, words: str) -> None:
    """Refuse words after a command that takes none.

    Raises
    ------
    HloError
        HLO204 if there are any.
    """
    if words:
        raise HloError("HLO204", f"`{command}` takes no words, and got `{words}`")


def one(usage: str, words: str) -> str:
    """The one name that a command needs.

    Raises
    ------
    HloError
        HLO204 if there is none, or more.
    """
    if len(words.split()) != 1:
        raise HloError("HLO204", f"one name is needed: {usage}")
    return words
