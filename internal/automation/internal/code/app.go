package code

import (
	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

// Method is an automation of the built-in app Custom Code.
type Method func(f *machine.Frame, args *value.Object) (any, error)

// Methods are the automations of the app, by slug. The functions are those of the instance's configuration.
func (c *Code) Methods() map[string]Method {
	return map[string]Method{"run": c.method, "run function": c.method}
}

// What onError says.
const (
	onErrorBreak    = "break"
	onErrorEmit     = "emit"
	onErrorContinue = "continue"
)

func (c *Code) method(f *machine.Frame, args *value.Object) (any, error) {
	call, err := CallOf(f.Home(), args)
	if err != nil {
		return nil, err
	}
	back := f.Away()
	answer, err := c.Run(f.Context(), call)
	back()
	return Settle(answer.Result, err, args.Get("onError"), f.Report)
}

// CallOf makes a call of the arguments of the app: function, parameters, code and language.
func CallOf(home *machine.Home, args *value.Object) (Call, error) {
	call := Call{WorkspaceID: home.WorkspaceID, Owner: home.FullSlug}
	if home.Config != nil {
		call.Functions, _ = home.Config.Get("functions").(*value.Object)
	}
	switch onError := args.Get("onError"); {
	case !value.Exists(onError):
	case onError != onErrorBreak && onError != onErrorEmit && onError != onErrorContinue:
		return call, machine.Fail(machine.InvalidArguments, "onError is break, emit or continue.")
	}
	if name := args.Get("function"); value.Exists(name) {
		call.Function = value.String(name)
	} else {
		code, ok := args.Get("code").(string)
		if !ok {
			return call, machine.Fail(machine.InvalidArguments, "Say which function to run, or hand over its code.")
		}
		if err := checkLanguage(args.Get("language")); err != nil {
			return call, err
		}
		call.Code = code
	}
	if call.Function == "" && call.Code == "" {
		return call, machine.Fail(machine.InvalidArguments, "Say which function to run, or hand over its code.")
	}
	parameters := args.Get("parameters")
	if !value.Exists(parameters) {
		return call, nil
	}
	object, ok := parameters.(*value.Object)
	if !ok {
		return call, machine.Fail(machine.InvalidArguments, "parameters must be an object: the name of every parameter, and its value.")
	}
	call.Parameters = object
	return call, nil
}

// Settle does with an error what onError says: break gives it on, emit reports it and gives nothing back, continue gives it back
// as a value.
func Settle(result any, err error, onError any, report func(*machine.Failure)) (any, error) {
	failure, ok := err.(*machine.Failure) //nolint:errorlint // what was wrapped is not an error of the language any more
	if err == nil || !ok {
		return result, err
	}
	switch onError {
	case onErrorEmit:
		report(failure)
		return value.Undefined{}, nil
	case onErrorContinue:
		shown := value.NewObject(3)
		shown.Set("error", failure.Name)
		shown.Set("message", failure.Message)
		if failure.Details != nil {
			shown.Set("details", value.From(failure.Details))
		}
		return shown, nil
	default:
		return nil, err
	}
}
