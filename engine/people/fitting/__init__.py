"""Stage `policy`: from games of people to the weights of `desdaemon.engine.people.policy`."""
