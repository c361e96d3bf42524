package collections

// Decode is how bodies are read.
var Decode = decode //nolint:gochecknoglobals // for tests alone
