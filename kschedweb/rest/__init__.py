"""REST, one file per noun. Methods return structs of kschedweb.views; errors are {"code", "message", "extra"}.

To add an operation: a struct in kschedweb/views, a method here, its route in kschedweb/urls.py, its row in
tests/web/accounts/table.py. `python -m tools.generated` then writes the browser's types.
"""
