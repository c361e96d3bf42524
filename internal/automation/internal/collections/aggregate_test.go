package collections_test

import (
	"testing"

	"atelier/internal/automation/internal/collections"
	"atelier/internal/automation/internal/machine"
)

func sales(k *kit) {
	k.t.Helper()
	k.call("updateSchema", `{"collection":"sales","properties":{"shop":"string","amount":"number","tags":"array","extra":"json"},"indexes":[{"properties":"shop"}]}`)
	k.call("bulkCreate", `{"collection":"sales","data":[
		{"_id":"1","shop":"north","amount":10,"tags":["x","y"],"extra":{"n":1}},{"_id":"2","shop":"north","amount":5,"tags":["x"]},
		{"_id":"3","shop":"south","amount":0.1},{"_id":"4","shop":"south","amount":0.2,"tags":[]},{"_id":"5","shop":"south"}]}`)
}

func TestAggregate(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		sales(k)
		for _, test := range []struct{ rest, want string }{
			{`"steps":[{"type":"sum","inputField":"amount","outputField":"total"},{"type":"count"}]`, `[{"total":15.3,"count":5}]`},
			{`"query":{"shop":"nowhere"},"steps":[{"type":"sum","inputField":"amount"},{"type":"avg","inputField":"amount","outputField":"a"}]`, `[{"sum_amount":0,"a":null}]`},
			{
				`"steps":[{"type":"avg","inputField":"amount","outputField":"a"},{"type":"max","inputField":"amount","outputField":"b"},{"type":"min","inputField":"amount","outputField":"c"},{"type":"count","inputField":"amount","outputField":"n"}],"opts":{"groupBy":"shop","sort":{"shop":-1}}`,
				`[{"shop":"south","a":0.15000000000000002,"b":0.2,"c":0.1,"n":2},{"shop":"north","a":7.5,"b":10,"c":5,"n":2}]`,
			},
			{`"query":{"shop":"north"},"steps":[{"type":"count","outputField":"n"}],"opts":{"groupBy":["shop","amount"],"sort":{"amount":1}}`, `[{"shop":"north","amount":5,"n":1},{"shop":"north","amount":10,"n":1}]`},
			{`"steps":[{"type":"count","outputField":"n"}],"opts":{"groupBy":"shop","groupField":"where","sort":{"n":1}}`, `[{"where":"north","n":2},{"where":"south","n":3}]`},
			{`"pipeline":[{"$match":{"shop":"north"}},{"$group":{"_id":"$shop","total":{"$sum":"$amount"},"n":{"$sum":1},"all":{"$push":"$_id"},"one":{"$first":"$_id"}}}]`, `[{"_id":"north","total":15,"n":2,"all":["1","2"],"one":"1"}]`},
			{`"steps":[{"$unwind":"$tags"},{"$group":{"_id":"$tags","n":{"$count":{}}}},{"$sort":{"n":-1}},{"$limit":1}]`, `[{"_id":"x","n":2}]`},
			{`"steps":[{"$group":{"_id":{"s":"$shop"},"max":{"$max":"$amount"}}},{"$match":{"max":{"$gt":1}}},{"$project":{"_id":0,"shop":"$_id.s"}}]`, `[{"shop":"north"}]`},
			{`"steps":[{"$sort":{"amount":-1}},{"$skip":1},{"$limit":2},{"$project":{"amount":1}}]`, `[{"_id":"2","amount":5},{"_id":"4","amount":0.2}]`},
			{`"query":{"amount":{"$exists":true}},"steps":[{"$count":"n"}]`, `[{"n":4}]`},
			{`"steps":[{"$group":{"_id":null,"shops":{"$addToSet":"$shop"},"last":{"$last":"$amount"},"avg":{"$avg":"$amount"},"low":{"$min":"$amount"}}}]`, `[{"_id":null,"shops":["north","south"],"last":null,"avg":3.825,"low":0.1}]`},
		} {
			k.want("aggregate", `{"collection":"sales",`+test.rest+`}`, test.want)
		}
		for _, test := range []struct{ rest, message string }{
			{`"steps":[]`, "steps"},
			{`"steps":[{"type":"median","inputField":"amount"}]`, "sum, avg"},
			{`"steps":[{"type":"sum"}]`, "inputField"},
			{`"steps":[{"type":"sum","inputField":"nick"}]`, "nick"},
			{`"steps":[{"type":"count"}],"opts":{"groupBy":"nick"}`, "nick"},
			{`"steps":[{"$lookup":{}}]`, "$lookup"},
			{`"steps":[{"$out":"x"}]`, "$out"},
			{`"steps":[{"$merge":"x"}]`, "$merge"},
			{`"steps":[{"$match":{"$where":"1"}}]`, "$where"},
			{`"steps":[{"$group":{"_id":null,"x":{"$accumulator":{}}}}]`, "$accumulator"},
			{`"steps":[{"$group":{"_id":null,"x":{"$sum":{"$function":{}}}}}]`, "operators"},
			{`"steps":[{"$group":{"_id":"$nick"}}]`, "nick"},
			{`"steps":[{"$match":{"nick":1}}]`, "nick"},
			{`"steps":[{"$project":{"x":"$$ROOT"}}]`, "$$ROOT"},
			{`"steps":[{"$limit":-1}]`, "$limit"},
			{`"steps":[{"$match":{}, "$limit":1}]`, "one key"},
		} {
			k.refused("aggregate", `{"collection":"sales",`+test.rest+`}`, machine.InvalidArguments, test.message)
		}
	})
}

func TestDistinct(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		sales(k)
		for _, test := range []struct{ rest, want string }{
			{`"field":"shop"`, `["north","south"]`},
			{`"field":"tags"`, `["x","y"]`},
			{`"field":"amount","query":{"shop":"north"}`, `[5,10]`},
			{`"field":"shop","opts":{"sort":-1}`, `["south","north"]`},
			{`"field":"shop","opts":{"count":true}`, `[{"value":"north","count":2},{"value":"south","count":3}]`},
			{`"field":"shop","opts":{"count":true,"valueField":"shop","sort":{"count":-1}}`, `[{"shop":"south","count":3},{"shop":"north","count":2}]`},
			{`"field":"extra.n"`, `[1]`},
		} {
			k.want("distinct", `{"collection":"sales",`+test.rest+`}`, test.want)
		}
		k.refused("distinct", `{"collection":"sales","field":"nick"}`, machine.InvalidArguments, "nick")
		k.refused("distinct", `{"collection":"sales"}`, machine.InvalidArguments, "field")
	})
}

func TestWorkIsBounded(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		sales(k)
		find := `{"collection":"sales","query":{"amount":0.2}}`
		k.refused("findMany", find, collections.TooLarge, "index")
		k.refused("count", find, collections.TooLarge, "index")
		k.refused("updateMany", `{"collection":"sales","query":{"amount":0.2},"data":{"amount":1}}`, collections.TooLarge, "index")
		k.want("count", `{"collection":"sales","query":{"shop":"north"}}`, `2`)
		k.want("findMany", `{"collection":"sales","options":{"limit":2,"fields":["shop"]}}`, `[{"_id":"1","shop":"north"},{"_id":"2","shop":"north"}]`)
		k.refused("findMany", `{"collection":"sales","options":{"limit":5}}`, machine.InvalidArguments, "limit")
		k.refused("updateMany", `{"collection":"sales","query":{"shop":"south"},"data":{"amount":1}}`, collections.TooLarge, "at most 2")
		k.refused("deleteMany", `{"collection":"sales","query":{"shop":"south"}}`, collections.TooLarge, "at most 2")
		k.refused("bulkCreate", `{"collection":"sales","data":[{},{},{},{},{},{}]}`, collections.TooLarge, "at most 5")
		k.refused("create", `{"collection":"sales","data":{"shop":"a text that is far too long for a record, which may have some eighty bytes in this test"}}`, collections.TooLarge, "bytes")
		k.refused("findMany", `{"collection":"sales","sort":{"amount":1}}`, collections.TooLarge, "look at more than 4")
		k.want("count", `{"collection":"sales"}`, `5`)
	}, func(l *collections.Limits) { l.Scan, l.Page, l.Changes, l.Batch, l.Record = 4, 4, 2, 5, 80 })
}
