"""Wrong passes and rules, for which the tests are tested; students look for them, too."""

from hlo_tools.assignments.bugs import planted

PLANTED = {wrong.name: wrong for wrong in planted("passes").all_planted()}
RULES = planted("rules").RULES
