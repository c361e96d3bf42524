package builtin

func customCode() App {
	const run = `{"description":"Runs a function of the instance, or a piece of code.","arguments":{` +
		`"function":{"type":"string","description":"The name of the function."},` +
		`"parameters":{"type":"object","description":"What it is called with, by name."},` +
		`"language":{"type":"string"},"code":{"type":"string","description":"Code to run instead of a function."},"onError":{"type":"string"}}}`
	return App{
		Slug: CustomCode, Name: "Custom Code", Description: "Runs functions that are written in the configuration of the instance.",
		Config: `{"functions":{"type":"object","title":"Functions","additionalProperties":{"type":"object","properties":{` +
			`"language":{"type":"string","enum":["nodejs","python"]},"parameters":{"type":"object"},"code":{"type":"string"}}}},` +
			`"disableNpmRegistry":{"type":"boolean"}}`,
		Automations: map[string]string{"run": run, "run function": run},
	}
}
