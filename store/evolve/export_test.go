package evolve

// Kinds are the types of steps, by their names in files.
var Kinds = kinds
