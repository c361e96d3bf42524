package restapi

import (
	"net/url"

	"github.com/danielgtaylor/huma/v2"
)

// AnyQuery gives an operation the whole query besides the parameters that it declares: embed it where the names of parameters
// are not known beforehand, such as paths into an event, and refuse those that mean nothing. Operations that take a
// parameter several times also say Repeated.
type AnyQuery struct{ query url.Values }

// Resolve implements huma.Resolver: it takes the query from the request.
func (q *AnyQuery) Resolve(ctx huma.Context) []error {
	address := ctx.URL()
	values, err := url.ParseQuery(address.RawQuery)
	if err != nil {
		return []error{&huma.ErrorDetail{Location: "query", Message: "it is not properly encoded"}}
	}
	q.query = values
	return nil
}

// Query is all that was asked, with the parameters that the operation declares.
func (q *AnyQuery) Query() url.Values { return q.query }

var _ huma.Resolver = (*AnyQuery)(nil)
