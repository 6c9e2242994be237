"""What each command of ./ksched takes: a module for each group of them, in the order in which help lists them.

adding    how a command is added, with the function that does its work
"""
