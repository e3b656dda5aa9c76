// A worker whose packages are broken: it never starts.
throw new Error("cannot be loaded");
