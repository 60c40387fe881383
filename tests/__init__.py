"""Tests of Toolbus; `README.md` beside this file says which folder holds what."""
