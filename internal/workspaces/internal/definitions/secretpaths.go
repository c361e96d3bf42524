package definitions

import (
	"slices"
	"strconv"

	"atelier/internal/dsul"
)

// ConfigSecrets are the places in an index where its configuration has a value that its schema calls secret: keys, and
// places in lists from 0.
func ConfigSecrets(index *dsul.Document) [][]string {
	config, ok := decoded(part(index, "config")).(map[string]any)
	if !ok {
		return nil
	}
	value := config["value"]
	return hidden([]string{"config", "value"}, value, withoutSecrets(config["schema"], value))
}

// InstanceSecrets are the places in an app instance where its configuration has a value that the schema of its app calls
// secret.
func InstanceSecrets(schema []byte, instance *dsul.Document) [][]string {
	value := decoded(part(instance, "config"))
	return hidden([]string{"config"}, value, withoutSecrets(decoded(schema), value))
}

// hidden lists where a value was replaced by what stands for secrets.
func hidden(at []string, value, shown any) (paths [][]string) {
	if shown == redacted {
		return [][]string{at}
	}
	switch value := value.(type) {
	case map[string]any:
		fields, _ := shown.(map[string]any)
		for _, name := range sortedKeys(value) {
			paths = append(paths, hidden(append(slices.Clone(at), name), value[name], fields[name])...)
		}
	case []any:
		items, _ := shown.([]any)
		for i := range min(len(value), len(items)) {
			paths = append(paths, hidden(append(slices.Clone(at), strconv.Itoa(i)), value[i], items[i])...)
		}
	}
	return paths
}
