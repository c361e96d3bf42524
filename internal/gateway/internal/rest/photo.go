package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"

	"atelier/internal/access"
	"atelier/internal/blob"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/restapi"
)

// pictureTypes are the images that browsers show and that cannot carry a script.
func pictureTypes() []string { return []string{"image/png", "image/jpeg", "image/gif", "image/webp"} }

// registerPhoto takes profile pictures as multipart forms, and serves them to everyone who knows the address.
func registerPhoto(api *restapi.API, deps Deps) {
	api.Handle(restapi.Operation{
		ID: "uploadPhoto", Method: http.MethodPost, Path: "/v2/user/photo", Tag: "Account", Policy: access.Accounts, Scope: access.Account,
	}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, err := uploadPhoto(w, r, deps)
		if err != nil {
			api.Errors().Write(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(viewUser(user))
	}))
	api.Handle(restapi.Operation{
		ID: "getPhoto", Method: http.MethodGet, Path: "/v2/photos/{hash}", Tag: "Account", Policy: access.Public,
	}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := sendPhoto(w, r, deps); err != nil {
			api.Errors().Write(w, r, err)
		}
	}))
}

func uploadPhoto(w http.ResponseWriter, r *http.Request, deps Deps) (identity.User, error) {
	limit := int64(deps.Config.PictureMaxSize)
	picture, err := readPicture(http.MaxBytesReader(w, r.Body, limit+multipartRoom), r.Header.Get("Content-Type"), limit)
	if err != nil {
		return identity.User{}, err
	}
	kept, err := deps.Blobs.Put(r.Context(), bytes.NewReader(picture), limit)
	if err != nil {
		return identity.User{}, err
	}
	if err := deps.Identity.KeepPhoto(r.Context(), kept.Hash); err != nil {
		return identity.User{}, err
	}
	address := deps.Config.PublicURL() + "/photos/" + kept.Hash[len(hashPrefix):]
	return deps.Identity.UpdateProfile(r.Context(), identity.Profile{Photo: &address})
}

const (
	multipartRoom = 16 << 10 // what the form needs around the picture
	hashPrefix    = "sha256:"
)

// readPicture reads the one file of the form.
func readPicture(body io.Reader, contentType string, limit int64) ([]byte, error) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return nil, errs.New(errs.InvalidRequest, "Send the picture as multipart/form-data, in the field photo.").WithStatus(http.StatusUnsupportedMediaType)
	}
	part, err := multipart.NewReader(body, params["boundary"]).NextPart()
	if err != nil || part.FormName() != "photo" {
		return nil, errs.Invalid(errs.Field{Field: "photo", Message: "send one picture in this field"})
	}
	picture, err := io.ReadAll(io.LimitReader(part, limit+1))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) || int64(len(picture)) > limit {
		return nil, errs.New(errs.InvalidRequest, "The picture is too large; the limit is "+strconv.FormatInt(limit, 10)+" bytes.").With("limit", limit).WithStatus(http.StatusRequestEntityTooLarge)
	}
	if err != nil {
		return nil, errs.New(errs.InvalidRequest, "The form ended before the picture did.")
	}
	if !slices.Contains(pictureTypes(), http.DetectContentType(picture)) {
		return nil, errs.Invalid(errs.Field{Field: "photo", Message: "send a PNG, JPEG, GIF or WebP image"})
	}
	return picture, nil
}

// sendPhoto serves a picture that was uploaded as one; no other content of the store can be had this way.
func sendPhoto(w http.ResponseWriter, r *http.Request, deps Deps) error {
	hash := hashPrefix + r.PathValue("hash")
	known, err := deps.Identity.IsPhoto(r.Context(), hash)
	if err != nil {
		return err
	}
	missing := errs.New(errs.NotFound, "There is no such picture.")
	if !known {
		return missing
	}
	content, err := deps.Blobs.Open(r.Context(), hash, 0, -1)
	if errors.Is(err, blob.ErrNotFound) {
		return missing
	}
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	picture, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	kind := http.DetectContentType(picture)
	if !slices.Contains(pictureTypes(), kind) {
		return missing
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	_, err = w.Write(picture)
	return err
}
