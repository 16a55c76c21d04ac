"""Where people meet it: settings, gateway, commands, command line, and the wiring of it all."""
