package value

// Explain reads a text by the means of the standard library alone.
func Explain(text string) (v any, end int, err error) { return explain(text) }
