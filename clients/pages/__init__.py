"""HTML pages that need no other file: the parts that pages of analyses and pages of matches share."""
