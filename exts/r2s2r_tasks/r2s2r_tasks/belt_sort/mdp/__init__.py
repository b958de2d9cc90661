"""Terms of the belt-sorting task, one file a manager. Import the modules, they are not gathered here."""
