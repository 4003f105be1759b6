"""The passes that divide a program among devices."""
