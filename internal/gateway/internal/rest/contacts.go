package rest

import (
	"context"
	"net/http"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/restapi"
)

type contactsInput struct {
	Page          int       `query:"page" minimum:"0" maximum:"100000" doc:"Which page, counted from 0."`
	Limit         int       `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"How many at most."`
	CreatedAfter  time.Time `query:"createdAfter" doc:"Only accounts made after this."`
	CreatedBefore time.Time `query:"createdBefore" doc:"Only accounts made before this."`
	Body          struct {
		Email        string   `json:"email,omitempty" maxLength:"254" doc:"An e-mail address; part of one for super admins."`
		IDs          []string `json:"ids,omitempty" maxItems:"500" doc:"User ids."`
		Text         string   `json:"text,omitempty" maxLength:"200" doc:"Super admins: part of a name or an address."`
		FirstName    string   `json:"firstName,omitempty" maxLength:"60" doc:"Super admins: part of the first name."`
		LastName     string   `json:"lastName,omitempty" maxLength:"60" doc:"Super admins: part of the last name."`
		AuthProvider string   `json:"authProvider,omitempty" maxLength:"100" doc:"Super admins: how they sign in."`
		Status       string   `json:"status,omitempty" enum:"pending,validated,deactivated" doc:"Super admins: the state of the account."`
		PlatformRole string   `json:"platformRole,omitempty" enum:"superadmin" doc:"Super admins: only super admins."`
		Groups       []string `json:"groups,omitempty" maxItems:"1" doc:"Super admins: members of the group."`
	}
}

// Contact is what others may know of an account. Super admins see more.
type Contact struct {
	ID           string         `json:"id" doc:"The user's id."`
	FirstName    string         `json:"firstName" doc:"The first name."`
	LastName     string         `json:"lastName,omitempty" doc:"The last name."`
	Photo        string         `json:"photo,omitempty" doc:"The address of the picture."`
	Groups       []string       `json:"groups,omitempty" doc:"The groups of the user."`
	Email        string         `json:"email,omitempty" doc:"The address; for super admins, and whoever asked with it."`
	Language     string         `json:"language,omitempty" doc:"For super admins."`
	Status       string         `json:"status,omitempty" doc:"For super admins."`
	Meta         map[string]any `json:"meta,omitempty" doc:"For super admins."`
	PlatformRole string         `json:"platformRole,omitempty" doc:"For super admins."`
}

// ContactList is a page of contacts.
type ContactList struct {
	Size     int       `json:"size" doc:"How many match in all."`
	Contacts []Contact `json:"contacts" nullable:"false" doc:"The contacts."`
}

type contactsOutput struct{ Body ContactList }

func registerContacts(api *restapi.API, deps Deps) {
	restapi.Register(api, restapi.Operation{
		ID: "findContacts", Method: http.MethodPost, Path: "/v2/contacts", Tag: "Identity", Policy: access.SignedIn, Scope: access.WorkspacesRead, Once: true, Summary: "Find people",
		Description: "People find each other by exact address or id. Super admins search.",
	}, func(ctx context.Context, in *contactsInput) (*contactsOutput, error) {
		caller := access.From(ctx)
		caller.SuperAdmin = caller.SuperAdmin && caller.HasScope(access.Account)
		if caller.Kind == access.Anonymous {
			return nil, errs.New(errs.PermissionDenied, "A visitor cannot look for people; sign in with an account.")
		}
		q, err := contactQuery(caller, deps.Config.AccountValidation == "auto", in)
		if err != nil {
			return nil, err
		}
		found, total, err := deps.Identity.FindUsers(ctx, q)
		if err != nil {
			return nil, err
		}
		out := &contactsOutput{Body: ContactList{Size: total, Contacts: make([]Contact, 0, len(found))}}
		for _, u := range found {
			out.Body.Contacts = append(out.Body.Contacts, viewContact(caller, u, in.Body.Email))
		}
		return out, nil
	})
}

// contactQuery says who is looked for. Addresses that nobody has shown to be theirs are found only where the installation
// trusts everybody's word.
func contactQuery(caller access.Principal, trusting bool, in *contactsInput) (identity.UserQuery, error) {
	b := in.Body
	q := identity.UserQuery{IDs: b.IDs, Limit: in.Limit, Offset: in.Page * in.Limit, CreatedAfter: in.CreatedAfter, CreatedBefore: in.CreatedBefore}
	if !caller.SuperAdmin {
		if b.Text+b.FirstName+b.LastName+b.AuthProvider+b.Status+b.PlatformRole != "" || len(b.Groups) > 0 {
			return q, errs.New(errs.PermissionDenied, "Look for people by their exact address or id.")
		}
		if b.Email == "" && len(b.IDs) == 0 {
			return q, errs.Invalid(errs.Field{Field: "email", Message: "send an address or ids"})
		}
		q.Status = identity.Validated
		if b.Email != "" {
			q.Emails, q.Verified = []string{strings.ToLower(strings.TrimSpace(b.Email))}, !trusting
		}
		return q, nil
	}
	q.Text, q.FirstName, q.LastName, q.Provider, q.Status = b.Text, b.FirstName, b.LastName, b.AuthProvider, identity.Status(b.Status)
	if b.Email != "" {
		q.Text = strings.TrimSpace(q.Text + b.Email)
	}
	if b.PlatformRole != "" {
		yes := true
		q.SuperAdmin = &yes
	}
	if len(b.Groups) > 0 {
		q.Group = b.Groups[0]
	}
	return q, nil
}

func viewContact(caller access.Principal, u identity.User, asked string) Contact {
	c := Contact{ID: u.ID, FirstName: u.FirstName, LastName: u.LastName, Photo: u.Photo, Groups: u.Groups}
	if caller.SuperAdmin {
		c.Email, c.Language, c.Status, c.Meta, c.PlatformRole = u.Email, u.Language, string(u.Status), u.Meta, viewUser(u).PlatformRole
	} else if strings.EqualFold(strings.TrimSpace(asked), u.Email) {
		c.Email = u.Email
	}
	return c
}
