package builtin

func collection() App {
	const (
		query   = `"query":{"type":"object"}`
		data    = `"data":{}`
		options = `"options":{"type":"object"}`
		force   = `"overrideSecurity":{"type":"boolean","description":"Allows an empty query."}`
	)
	does := func(description, arguments string) string {
		return `{"description":"` + description + `","arguments":{` + arguments + `}}`
	}
	return App{
		Slug: Collection, Name: "Collection", Description: "Keeps records of the workspace in a collection.",
		Config: `{"collectionName":{"type":"string","title":"Name"},"properties":{"type":"object","title":"Fields","additionalProperties":{"type":"object"}},` +
			`"indexes":{"type":"array","items":{"type":"object"}},"uniques":{"type":"array","items":{"type":"object"}}}`,
		Automations: map[string]string{
			"insert":     does("Adds a record.", data+`,"outputMode":{"type":"string"}`),
			"insertMany": does("Adds records.", data),
			"find":       does("Finds records.", query+`,"sort":{"type":"object"},`+options),
			"updateOne":  does("Changes the first record that is found.", query+","+data+","+force),
			"updateMany": does("Changes all records that are found.", query+","+data+","+force),
			"upsert":     does("Adds records, or changes those that exist.", data+","+options),
			"deleteOne":  does("Deletes the first record that is found.", query+","+force),
			"deleteMany": does("Deletes all records that are found.", query+","+force),
			"distinct":   does("Lists the values of a field.", query+`,"field":{"type":"string"},"opts":{"type":"object"}`),
			"aggregate":  does("Computes sums, averages and the like.", query+`,"steps":{"type":"array"},"opts":{"type":"object"}`),
		},
	}
}
