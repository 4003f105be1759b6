"""The types of values: element types, shapes, layouts, shardings, literals."""
