package identity

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// UserPatch is what a super admin may change of an account. A nil field is left alone.
type UserPatch struct {
	FirstName, LastName, Email, Language *string
	Status                               *Status
	Meta                                 map[string]any
	SuperAdmin                           *bool
	Groups                               *[]string
	// GroupsMode says how Groups changes what is there: replace, add or delete; empty means replace.
	GroupsMode string
}

// PatchUser changes an account, as a super admin.
func (i *Identity) PatchUser(ctx context.Context, userID string, patch UserPatch) (User, error) {
	if err := patch.allowed(access.From(ctx), userID); err != nil {
		return User{}, err
	}
	u, err := i.update(ctx, userID, patch.apply)
	if sqldb.IsUnique(err) {
		return u, errs.New(errs.AlreadyExists, "Another account has this e-mail address.")
	}
	return u, err
}

// allowed refuses to let a token that may leak hand out more than itself: who is a super admin, and at which address an
// account is reached, is decided by people in a session, and never for machines.
func (patch UserPatch) allowed(caller access.Principal, userID string) error {
	if patch.SuperAdmin == nil && patch.Email == nil {
		return nil
	}
	if caller.Credential != access.BySession || caller.IsService() {
		return errs.New(errs.PermissionDenied, "Sign in to change platformRole or email; an access token cannot.")
	}
	if strings.HasPrefix(userID, access.ServicePrefix) {
		return errs.New(errs.PermissionDenied, "A service account has no address and is never a super admin; give it rights in workspaces.")
	}
	return nil
}

func (patch UserPatch) apply(u *User) error {
	if patch.FirstName != nil {
		u.FirstName = *patch.FirstName
	}
	if patch.LastName != nil {
		u.LastName = *patch.LastName
	}
	if patch.Language != nil {
		u.Language = *patch.Language
	}
	if patch.Email != nil && normalEmail(*patch.Email) != u.Email {
		if err := checkAddress(*patch.Email); err != nil {
			return err
		}
		u.Email, u.Verified = normalEmail(*patch.Email), true // an administrator vouches for it
	}
	if patch.Status != nil {
		u.Verified = u.Verified || u.Status == Pending && *patch.Status == Validated
		u.Status = *patch.Status
	}
	if patch.SuperAdmin != nil {
		if !*patch.SuperAdmin && u.SuperAdmin && !u.stored {
			return errs.New(errs.Conflict, "The account is a super admin because SUPER_ADMIN_EMAILS lists its address; change the configuration.")
		}
		u.stored, u.SuperAdmin = *patch.SuperAdmin, *patch.SuperAdmin
	}
	if patch.Groups != nil {
		u.Groups = mergeGroups(u.Groups, *patch.Groups, patch.GroupsMode)
	}
	return u.mergeMeta(patch.Meta)
}

func mergeGroups(have, given []string, mode string) []string {
	switch mode {
	case "add":
		given = append(slices.Clone(have), given...)
	case "delete":
		given = slices.DeleteFunc(slices.Clone(have), func(group string) bool { return slices.Contains(given, group) })
	}
	given = slices.Clone(given)
	slices.Sort(given)
	return slices.Compact(given)
}

// UserQuery says which accounts are meant. Empty fields do not narrow it.
type UserQuery struct {
	IDs, Emails []string
	// Text is searched for in names and address; FirstName and LastName in those. All three ignore case.
	Text, FirstName, LastName string
	Provider                  string
	Status                    Status
	Group                     string
	SuperAdmin                *bool
	// Verified narrows it to people who have shown that their address is theirs.
	Verified      bool
	CreatedAfter  time.Time
	CreatedBefore time.Time
	Limit, Offset int
}

// FindUsers lists the accounts of people that match, and how many there are in all.
func (i *Identity) FindUsers(ctx context.Context, q UserQuery) ([]User, int, error) {
	where, args := q.where()
	var total int
	if err := i.deps.DB.QueryRow(ctx, `SELECT COUNT(*) FROM gw_users u WHERE `+where, args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	args = append(args, q.Limit, q.Offset)
	users, err := sqldb.All(ctx, i.deps.DB, func(rows *sql.Rows) (User, error) { return i.scanUser(rows.Scan) },
		fmt.Sprintf(`SELECT %s FROM gw_users u WHERE %s ORDER BY u.created_at, u.id LIMIT $%d OFFSET $%d`, userColumns, where, len(args)-1, len(args)), args...)
	return users, total, err
}

// where pushes the query into SQL. Passing visitors are not people.
func (q UserQuery) where() (string, []any) {
	conditions, args := []string{`u.anonymous = 0`}, []any{}
	bind := func(value any) string {
		args = append(args, value)
		return fmt.Sprintf("$%d", len(args))
	}
	for column, values := range map[string][]string{"u.id": q.IDs, "u.email": q.Emails} {
		if len(values) == 0 {
			continue
		}
		var bound []string
		for _, value := range values {
			bound = append(bound, bind(value))
		}
		conditions = append(conditions, column+` IN (`+strings.Join(bound, ", ")+`)`)
	}
	for column, text := range map[string]string{
		"u.first_name": q.FirstName, "u.last_name": q.LastName, "u.first_name || ' ' || u.last_name || ' ' || COALESCE(u.email, '')": q.Text,
	} {
		if text != "" {
			conditions = append(conditions, `LOWER(`+column+`) LIKE `+bind("%"+sqldb.EscapeLike(strings.ToLower(text))+"%")+` ESCAPE '!'`)
		}
	}
	switch q.Provider {
	case "":
	case LocalProvider:
		conditions = append(conditions, `u.password_hash <> ''`)
	default:
		conditions = append(conditions, `EXISTS (SELECT 1 FROM gw_links p WHERE p.user_id = u.id AND p.provider = `+bind(q.Provider)+`)`)
	}
	if q.Verified {
		conditions = append(conditions, `u.email_verified = 1`)
	}
	if q.Status != "" {
		conditions = append(conditions, `u.status = `+bind(q.Status))
	}
	if q.Group != "" {
		conditions = append(conditions, `u.user_groups LIKE `+bind(`%"`+sqldb.EscapeLike(q.Group)+`"%`)+` ESCAPE '!'`)
	}
	if q.SuperAdmin != nil {
		conditions = append(conditions, `u.super_admin = `+bind(flag(*q.SuperAdmin)))
	}
	if !q.CreatedAfter.IsZero() {
		conditions = append(conditions, `u.created_at > `+bind(sqldb.Millis(q.CreatedAfter)))
	}
	if !q.CreatedBefore.IsZero() {
		conditions = append(conditions, `u.created_at < `+bind(sqldb.Millis(q.CreatedBefore)))
	}
	return strings.Join(conditions, " AND "), args
}

// BulkResult counts what a change of many accounts did.
type BulkResult struct {
	Requested, Matched, Modified int
}

// PatchUsers changes many accounts, each on its own; one that cannot be changed stops the rest and is reported.
func (i *Identity) PatchUsers(ctx context.Context, q UserQuery, patch UserPatch) (BulkResult, error) {
	result := BulkResult{Requested: len(q.IDs) + len(q.Emails)}
	q.Limit = result.Requested
	users, _, err := i.FindUsers(ctx, q)
	if err != nil {
		return result, err
	}
	result.Matched = len(users)
	for _, u := range users {
		if _, err := i.PatchUser(ctx, u.ID, patch); err != nil {
			return result, err
		}
		result.Modified++
	}
	return result, i.auditAlone(ctx, Act{
		TargetType: "users", TargetID: "*",
		Payload: &catalogue.UsersBulkUpdated{
			Query: catalogue.UsersQuery{IDs: q.IDs, Emails: q.Emails}, Behaviour: catalogue.UsersBehaviour{Groups: patch.GroupsMode}, Data: patch.told(),
			Result: catalogue.UsersResult(result),
		},
	})
}

// told is what events say of a change. Of what a person keeps beside their account only the names are told.
func (patch UserPatch) told() catalogue.UsersData {
	said := catalogue.UsersData{FirstName: patch.FirstName, LastName: patch.LastName, Email: patch.Email, Language: patch.Language, Groups: patch.Groups}
	if patch.Status != nil {
		said.Status = (*string)(patch.Status)
	}
	if patch.SuperAdmin != nil {
		said.PlatformRole = new(platformRole(*patch.SuperAdmin))
	}
	said.Meta = slices.Sorted(maps.Keys(patch.Meta))
	return said
}

// AddUser makes an account, as a super admin: validated, with a mailed link to choose its password.
func (i *Identity) AddUser(ctx context.Context, wanted SignUp) (User, error) {
	if err := checkAddress(wanted.Email); err != nil {
		return User{}, err
	}
	now := i.now()
	u := User{
		ID: i.deps.IDs.User(), Email: normalEmail(wanted.Email), FirstName: wanted.FirstName, LastName: wanted.LastName, Language: wanted.Language,
		Status: Validated, Verified: true, CreatedAt: now, UpdatedAt: now, AuthData: map[string]map[string]any{},
	}
	err := i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := i.insertUser(ctx, tx, u, ""); err != nil {
			return err
		}
		if err := i.audit(ctx, tx, Act{Payload: new(catalogue.UserCreated), TargetType: "users", TargetID: u.ID, After: u.facts()}); err != nil {
			return err
		}
		return i.mailToken(ctx, tx, u, ForPassword, i.deps.Config.ResetPage())
	})
	if sqldb.IsUnique(err) {
		return u, errs.New(errs.AlreadyExists, "There is an account with this e-mail address.").With("field", "email")
	}
	return u, err
}
