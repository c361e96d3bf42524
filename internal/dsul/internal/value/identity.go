package value

// identities are the keys by which an item of a list is known, the best first.
func identities() []string { return []string{"slug", "id", "name"} }

// identity gives the value of a key when it can tell an item of a list from the others: a scalar that is not empty.
func (v *Value) identity(key string) (string, bool) {
	found, ok := v.Get(key)
	if !ok || found.Collection() || found.Kind == Null || found.Text == "" {
		return "", false
	}
	return found.Text, true
}

// Names gives the names by which the items of lists are known: those of the best key that gives every item of each list a
// name of its own. ok is false when no key does.
func Names(lists ...[]*Value) (key string, names [][]string, ok bool) {
	for _, key := range identities() {
		if names, ok := namesBy(key, lists); ok {
			return key, names, true
		}
	}
	return "", nil, false
}

func namesBy(key string, lists [][]*Value) ([][]string, bool) {
	names := make([][]string, len(lists))
	for i, items := range lists {
		seen := make(map[string]bool, len(items))
		for _, item := range items {
			name, ok := item.identity(key)
			if !ok || seen[name] {
				return nil, false
			}
			seen[name] = true
			names[i] = append(names[i], name)
		}
	}
	return names, true
}
