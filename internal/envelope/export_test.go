package envelope

// Written is how a source is written.
func Written(s *Source) string { return string(s.append(nil)) }
