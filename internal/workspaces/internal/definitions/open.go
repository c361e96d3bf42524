package definitions

// OpenConfig is a configuration without what its schema calls secret: that is absent, as if it had never been set. Both are
// JSON; the result is what the decoder makes of it, nil when there is no configuration.
func OpenConfig(schema, config []byte) any {
	return unredacted(withoutSecrets(decoded(schema), decoded(config)))
}

// unredacted is a value without what stands for secrets.
func unredacted(value any) any {
	switch value := value.(type) {
	case string:
		if value == redacted {
			return nil
		}
		return value
	case []any:
		open := make([]any, len(value))
		for i, item := range value {
			open[i] = unredacted(item)
		}
		return open
	case map[string]any:
		open := make(map[string]any, len(value))
		for name, item := range value {
			if item != redacted {
				open[name] = unredacted(item)
			}
		}
		return open
	default:
		return value
	}
}
