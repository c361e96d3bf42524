package archivetest

import (
	"encoding/json"
	"fmt"
	"strings"
)

func (p *pen) index(seed uint64) string {
	text := p.comment() + "name: " + p.pick("Shop", "Café du Coin", "'Shop 2.0'", `"O'Neil, Inc."`) + "\n" + fmt.Sprintf("slug: shop-%d\n", seed)
	text += p.pick("", "description: >-\n  Sells things\n  to people.\n\n  And more.\n", "description: {en: Sells things, fr: 'Vend des choses'}\n")
	text += p.pick("", "labels: [base, 'team:shop', v1.2]\n", "labels:\n- base   # not indented\n- team:shop\n")
	text += p.pick("", "photo: https://example.org/shop.png\n")
	text += p.comment()
	text += p.pick("", `config:
  schema:
    apiUrl: &url
      type: string
      title: {en: Address, fr: Adresse}
    otherUrl: *url
    retries: {type: number, default: 3}
  value:
    apiUrl:   https://example.org/?a=1&b=2#frag
    retries: 3
`)
	text += p.pick("", `blocks:
  Card:
    name: Card
    blocks:
      - slug: RichText
        content: |
          <b>{{title}}</b>
            indented
  Price:
    name: 'Price'
`)
	return text + p.pick("", "events:\n  types:\n    order.created:\n      schema:\n        amount: {type: number}\n", "secrets:\n  schema:\n    apiKey: {type: string, secret: true}\n")
}

func (p *pen) security() string {
	return p.comment() + `authorizations:
  roles:
    editor: {}
    agent:
      description: ` + p.pick("Answers tickets", "'répond: aux tickets'") + `
      auth:
        svc:
          conditions:
            authData.email: {$regex: '@example\.org$'}
  rules:
    - role: agent   # last rule wins
      action: [read, update]
      subject: pages
    - action: read
      subject: pages
      conditions: {labels: {$in: [public]}}
`
}

func (p *pen) automation(path string) string {
	if p.chance(8) {
		return p.asJSON(map[string]any{
			"name": p.pick("Order", "Étape <1> & \"2\"", "注文"), "when": map[string]any{"endpoint": true},
			"do": []any{map[string]any{"set": map[string]any{"name": "total", "value": 12.5}}, map[string]any{"comment": "a\nb"}}, "output": "{{total}}",
		})
	}
	text := p.comment()
	if p.chance(2) {
		_, slug, _ := strings.Cut(path, "/")
		text += "slug: " + slug + "\n"
	}
	text += "name: " + p.name() + p.pick("", "  # shown in the list") + "\n"
	text += p.pick("", "description: |\n  First line\n    and an indented one\n\n  last\n", "description: short\n", "private: true\n", "disabled: true\n", "labels: [mail]\n")
	text += p.pick("", "when:\n  endpoint: true\n", "when:\n  events:\n  - order.created\n  - shop.paid # by the app\n", "when: {schedules: ['0 8 * * 1-5', \"*/30 * * * *\"]}\n",
		"when:\n    endpoint: orders/:id\n    events: [order.created]\n")
	text += p.pick("", "arguments:\n  customer: &text\n    type: string\n    description: {en: Who, fr: Qui}\n  note: *text\n  lines:\n    type: array\n    items: {type: object, properties: {price: {type: number}}}\n")
	var steps strings.Builder
	for range 1 + p.IntN(6) {
		steps.WriteString(p.comment() + p.instruction())
	}
	return text + "do:" + p.pick("\n", "   # the steps\n") + steps.String() + p.pick("", "output: '{{total}}'\n", "output:\n  ok: true\n  total: '{{total}}'\n")
}

func (p *pen) instruction() string {
	switch p.IntN(10) {
	case 0:
		return "  - conditions:\n      '{{total}} > 10 and {{user.id}}':\n        - emit:\n            event: order.large\n            payload: {total: '{{total}}'}\n      default: []\n"
	case 1:
		return "  - repeat:\n      on: '{{items}}'\n      do:\n        - set: {name: 'prices[]', value: '{{item.price}}'}\n        - break: {scope: repeat}\n"
	case 2:
		return "  - emit:\n      event: order.created\n      payload:\n        id: '{{run.id}}'\n      options: {persist: false}\n"
	case 3:
		return "  - fetch:\n      url: https://example.org/{{id}}\n      method: POST\n      headers: {x-key: '{{secret.apiKey}}'}\n      body: &body\n        a: 1\n      query: *body\n      output: answer\n"
	case 4:
		return "  - comment: |-\n      " + p.pick("why this is so", "pourquoi c'est ainsi", "なぜ") + "\n"
	case 5:
		return "  - " + p.called() + ":\n      customer: '{{user.id}}'\n      output: result\n"
	case 6:
		return "  - try:\n      do:\n        - delete: {name: '" + p.variable() + "'}\n      catch:\n        - set: {name: failed, value: '{{$error.message}}'}\n"
	case 7:
		return "  - wait:\n      oneOf:\n        - event: shop.paid\n          filters: {payload.id: '{{id}}'}\n      timeout: 20\n      output: paid\n"
	default:
		return "  - set:\n      name: " + p.variable() + "\n      value: " + p.value() + "\n"
	}
}

func (p *pen) page() string {
	if p.chance(6) {
		return p.asJSON(map[string]any{"name": p.pick("Home", "Accueil"), "blocks": []any{map[string]any{"slug": "RichText", "content": "<b>{{title}}</b>"}}})
	}
	text := p.comment() + "name: " + p.name() + "\n" + p.pick("", "labels: [public]\n", "onInit: page.opened\n", "styles: |\n  :root { --c: #fff; }\n\n  .a > .b { color: red }\n")
	return text + "blocks:\n" + p.pick("", p.comment()) + "  - slug: RichText\n    content: " + p.pick("Hello", "'{{title}}'", "|\n      <h1>\n        Ça va?\n      </h1>", ">\n      folded\n      text") + "\n" +
		p.pick("", "  - slug: Card\n    title: &title Total\n    subtitle: *title\n", "  - {slug: Form, onSubmit: order.created, schema: {type: object, properties: {a: {type: string}}}}\n")
}

func (p *pen) instance() string {
	return p.comment() + "appSlug: " + p.pick("Custom Code", "Dialog Box", "'Collection'") + "\n" + p.pick("", "appVersion: '1.10'\n", "appName: Code\n", "disabled: true\n", "labels: [base]\n") +
		p.pick("", "config:\n  functions:\n    add:\n      language: nodejs\n      parameters: {a: {type: number}}\n      code: |\n        // adds\n        return a + 1;\n", "config: {}\n", "config:\n  apiKey: '{{secret.apiKey}}'\n")
}

// asJSON is JSON, packed or with room to breathe.
func (p *pen) asJSON(value map[string]any) string {
	text, err := json.MarshalIndent(value, "", p.pick("", "  ", "\t"))
	if err != nil {
		return "{}"
	}
	return string(text) + p.pick("", "\n")
}
