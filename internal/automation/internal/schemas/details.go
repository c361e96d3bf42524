package schemas

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"atelier/internal/dsul/expr/value"
)

// maxDetails is how many mistakes are told at once.
const maxDetails = 100

// finding is one mistake in a payload.
type finding struct {
	keyword string
	params  map[string]any
	message string
}

// detailsOf lists mistakes the way clients know them, in an order that is always the same.
func detailsOf(failed *jsonschema.ValidationError) []any {
	var all []map[string]any
	gather(failed, &all)
	slices.SortStableFunc(all, func(a, b map[string]any) int {
		return cmp.Or(cmp.Compare(text(a["instancePath"]), text(b["instancePath"])), cmp.Compare(text(a["schemaPath"]), text(b["schemaPath"])),
			cmp.Compare(text(a["message"]), text(b["message"])))
	})
	details := make([]any, 0, min(len(all), maxDetails))
	for _, one := range all[:min(len(all), maxDetails)] {
		details = append(details, one)
	}
	return details
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// gather notes a mistake with all that led to it.
func gather(failed *jsonschema.ValidationError, all *[]map[string]any) {
	for _, cause := range failed.Causes {
		gather(cause, all)
	}
	for _, found := range findings(failed) {
		_, fragment, _ := strings.Cut(failed.SchemaURL, "#")
		*all = append(*all, map[string]any{
			"instancePath": pointer(failed.InstanceLocation), "schemaPath": "#" + fragment + "/" + found.keyword, "keyword": found.keyword,
			"params": found.params, "message": found.message,
		})
	}
}

func pointer(path []string) string {
	var b strings.Builder
	for _, token := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(token))
	}
	return b.String()
}

func one(keyword, message string, pairs ...any) []finding {
	params := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		params[text(pairs[i])] = pairs[i+1]
	}
	return []finding{{keyword: keyword, params: params, message: message}}
}

// findings is what one mistake is called; nothing for what only holds others.
func findings(failed *jsonschema.ValidationError) []finding {
	switch k := failed.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		return nil
	case *kind.Type:
		want := strings.Join(k.Want, ",")
		return one("type", "must be "+want, "type", want)
	case *kind.Enum:
		return one("enum", "must be equal to one of the allowed values", "allowedValues", k.Want)
	case *kind.Const:
		return one("const", "must be equal to constant", "allowedValue", k.Want)
	case *kind.Format:
		return one("format", `must match format "`+k.Want+`"`, "format", k.Want)
	case *kind.Pattern:
		return one("pattern", `must match pattern "`+k.Want+`"`, "pattern", k.Want)
	case *kind.Not:
		return one("not", "must NOT be valid")
	case *kind.AnyOf:
		return one("anyOf", "must match a schema in anyOf")
	case *kind.OneOf:
		return one("oneOf", "must match exactly one schema in oneOf", "passingSchemas", passing(k.Subschemas))
	case *kind.FalseSchema:
		return one("false schema", "boolean schema is false")
	}
	return slices.Concat(ofObject(failed.ErrorKind), ofList(failed.ErrorKind), ofSize(failed.ErrorKind))
}

// passing are the places of the schemas that match; null when none does.
func passing(places []int) any {
	if places == nil {
		return nil
	}
	list := make([]any, 0, len(places))
	for _, place := range places {
		list = append(list, float64(place))
	}
	return list
}

// ofObject are the mistakes in the fields of an object.
func ofObject(said jsonschema.ErrorKind) (all []finding) {
	switch k := said.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			all = append(all, one("required", fmt.Sprintf("must have required property '%s'", name), "missingProperty", name)...)
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			all = append(all, one("additionalProperties", "must NOT have additional properties", "additionalProperty", name)...)
		}
	case *kind.PropertyNames:
		return one("propertyNames", "property name must be valid", "propertyName", k.Property)
	case *kind.Dependency:
		return depends("dependencies", k.Prop, k.Missing)
	case *kind.DependentRequired:
		return depends("dependentRequired", k.Prop, k.Missing)
	}
	return all
}

func depends(keyword, on string, missing []string) (all []finding) {
	for _, name := range missing {
		all = append(all, one(keyword, fmt.Sprintf("must have property %s when property %s is present", name, on), "property", on, "missingProperty", name)...)
	}
	return all
}

// ofList are the mistakes in the items of a list.
func ofList(said jsonschema.ErrorKind) []finding {
	switch k := said.(type) {
	case *kind.UniqueItems:
		return one("uniqueItems", fmt.Sprintf("must NOT have duplicate items (items ## %d and %d are identical)", k.Duplicates[0], k.Duplicates[1]),
			"i", float64(k.Duplicates[1]), "j", float64(k.Duplicates[0]))
	case *kind.Contains:
		return one("contains", "must contain at least 1 valid item(s)", "minContains", 1.0)
	case *kind.AdditionalItems:
		return one("additionalItems", "must NOT have additional items", "count", float64(k.Count))
	default:
		return nil
	}
}

// ofSize are the mistakes of what is too large or too small.
func ofSize(said jsonschema.ErrorKind) []finding {
	fewer := func(keyword, what string, limit int) []finding {
		return one(keyword, fmt.Sprintf("must NOT have fewer than %d %s", limit, what), "limit", float64(limit))
	}
	more := func(keyword, what string, limit int) []finding {
		return one(keyword, fmt.Sprintf("must NOT have more than %d %s", limit, what), "limit", float64(limit))
	}
	compared := func(keyword, comparison string, limit *big.Rat) []finding {
		n, _ := limit.Float64()
		return one(keyword, "must be "+comparison+" "+value.FormatNumber(n), "comparison", comparison, "limit", n)
	}
	switch k := said.(type) {
	case *kind.MinLength:
		return fewer("minLength", "characters", k.Want)
	case *kind.MaxLength:
		return more("maxLength", "characters", k.Want)
	case *kind.MinItems:
		return fewer("minItems", "items", k.Want)
	case *kind.MaxItems:
		return more("maxItems", "items", k.Want)
	case *kind.MinProperties:
		return fewer("minProperties", "properties", k.Want)
	case *kind.MaxProperties:
		return more("maxProperties", "properties", k.Want)
	case *kind.Minimum:
		return compared("minimum", ">=", k.Want)
	case *kind.Maximum:
		return compared("maximum", "<=", k.Want)
	case *kind.ExclusiveMinimum:
		return compared("exclusiveMinimum", ">", k.Want)
	case *kind.ExclusiveMaximum:
		return compared("exclusiveMaximum", "<", k.Want)
	case *kind.MultipleOf:
		n, _ := k.Want.Float64()
		return one("multipleOf", "must be multiple of "+value.FormatNumber(n), "multipleOf", n)
	default:
		return nil
	}
}
