// As one whose packages are broken: it never comes up.
throw new Error("cannot be loaded");
