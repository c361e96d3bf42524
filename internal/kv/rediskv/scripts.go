package rediskv

import (
	_ "embed" // the scripts

	"github.com/redis/rueidis"
)

//go:embed lua/gcra.lua
var gcraText string

//go:embed lua/take.lua
var takeText string

//go:embed lua/swap.lua
var swapText string

// scripts run on the server as one step. They are sent once and then called by their hash; a server that has forgotten
// them is sent them again.
type scripts struct {
	take, swap *rueidis.Lua
}

func newScripts() scripts {
	return scripts{take: rueidis.NewLuaScript(gcraText + takeText), swap: rueidis.NewLuaScript(swapText)}
}
