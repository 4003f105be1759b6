"""Assignments: planted bugs for each student to find, and the grader of the answers.

The files: `bugs` (all kinds, and how a suspect is held against the unmodified project), `find` (the
project's own way to find one), `assignment` (a folder for a student), `grade` (and a table).
"""
