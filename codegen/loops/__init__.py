"""Loop nests over arrays, and transformations of loops that know no language."""
