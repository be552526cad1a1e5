"""`desdaemon web`: a board in the browser, and the gateway between its pages and a daemon."""
