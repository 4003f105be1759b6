"""Exercises of the course: a student's function in the place of the project's own, and checked.

The files: `exercise` (what an exercise is, and an answer), `finding` (what is wrong with one),
`calls`, `cases` and `passes` (ways to look for it), a file for the exercises of a chapter or two,
`catalogue` (all of them), `apart` (checks in a process of its own, with `limits`), and `referee`
(judges an answer in another process; a check runs `inside` functions there, over a `wire`).
"""
