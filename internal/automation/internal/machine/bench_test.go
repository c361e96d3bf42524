package machine_test

import (
	"testing"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
)

func benchmark(b *testing.B, text string, payload ...any) {
	b.Helper()
	bench := machinetest.New(b)
	bench.Add("sub", `{do: [], output: '{{x}}'}`)
	automation := bench.Add("main", text)
	b.ReportAllocs()
	for b.Loop() {
		result := bench.Machine.Execute(b.Context(), bench.Fresh(), automation, machine.Payload(payload...))
		if result.Err != nil {
			b.Fatal(result.Err)
		}
	}
}

// A hundred thousand times one instruction.
func BenchmarkSet(b *testing.B) {
	benchmark(b, `do: [{repeat: {until: 100000, do: [{set: {name: x, value: '{{item}}'}}]}}]`)
}

func BenchmarkSetText(b *testing.B) {
	benchmark(b, `do: [{repeat: {until: 100000, do: [{set: {name: x, value: 'the {{item}}th'}}]}}]`)
}

func BenchmarkSum(b *testing.B) {
	benchmark(b, `do: [{set: {name: x, value: 0}}, {repeat: {until: 100000, do: [{set: {name: x, value: '{% {{x}} + {{item}} %}'}}]}}]`)
}

func BenchmarkPush(b *testing.B) {
	benchmark(b, `do: [{repeat: {until: 100000, do: [{set: {name: 'x[]', value: '{{item}}'}}]}}]`)
}

func BenchmarkKeys(b *testing.B) {
	benchmark(b, `do: [{repeat: {until: 100000, do: [{set: {name: 'x.k{{item}}', value: '{{item}}'}}]}}]`)
}

func BenchmarkConditions(b *testing.B) {
	benchmark(b, `do: [{repeat: {until: 100000, do: [{conditions: {'{{item}} > 5 and {{item}} < 100': [{set: {name: x, value: 1}}], default: []}}]}}]`)
}

func BenchmarkCall(b *testing.B) {
	benchmark(b, `do: [{repeat: {until: 10000, do: [{sub: {x: '{{item}}', output: y}}]}}]`)
}

// Two cores are used.
func BenchmarkBatch(b *testing.B) {
	benchmark(b, `do: [{repeat: {until: 100, batch: {size: 50}, do: [{repeat: {until: 1000, do: [{set: {name: 'x{{$index}}', value: '{% {{item}} * 2 %}'}}]}}]}}]`)
}
