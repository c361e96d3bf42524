package strictjson

import (
	"encoding/json"
	"slices"
)

// keySet remembers the keys of one object. Small objects, nearly all of them, need no map.
type keySet struct {
	few  [8]string
	n    int
	many map[string]struct{}
}

// add tells whether the key, given as its quoted text, is new. Two spellings of one key, such as "a" and "\u0061", are
// the same key.
func (k *keySet) add(quoted []byte) bool {
	key := unquote(quoted)
	if k.many != nil {
		if _, seen := k.many[key]; seen {
			return false
		}
		k.many[key] = struct{}{}
		return true
	}
	if slices.Contains(k.few[:k.n], key) {
		return false
	}
	if k.n < len(k.few) {
		k.few[k.n] = key
		k.n++
		return true
	}
	k.many = make(map[string]struct{}, 2*len(k.few))
	for _, other := range k.few {
		k.many[other] = struct{}{}
	}
	k.many[key] = struct{}{}
	return true
}

func unquote(quoted []byte) string {
	for _, c := range quoted {
		if c == '\\' {
			var key string
			if json.Unmarshal(quoted, &key) == nil {
				return key
			}
			break
		}
	}
	return string(quoted[1 : len(quoted)-1])
}
