"""A book as a folder of static pages, for any web server or none: `desdaemon book site`."""
