package letters

func validate() kind {
	return kind{expires: true, words: map[string]words{
		english: {
			Subject:   "Confirm your e-mail address",
			Body:      "An account was created with this e-mail address. Confirm that the address is yours, and you can sign in.",
			Action:    "Confirm the address",
			Address:   englishAddress,
			Otherwise: "If you did not create an account, you do not have to do anything: without your confirmation it cannot be used.",
		},
		french: {
			Subject:   "Confirmez votre adresse e-mail",
			Body:      "Un compte a été créé avec cette adresse e-mail. Confirmez qu’elle est bien la vôtre pour pouvoir vous connecter.",
			Action:    "Confirmer l’adresse",
			Address:   frenchAddress,
			Otherwise: "Si vous n’avez pas créé de compte, vous n’avez rien à faire : sans votre confirmation, il ne peut pas être utilisé.",
		},
		german: {
			Subject:   "Bestätigen Sie Ihre E-Mail-Adresse",
			Body:      "Mit dieser E-Mail-Adresse wurde ein Konto angelegt. Bestätigen Sie, dass die Adresse Ihnen gehört, dann können Sie sich anmelden.",
			Action:    "Adresse bestätigen",
			Address:   germanAddress,
			Otherwise: "Wenn Sie kein Konto angelegt haben, müssen Sie nichts tun: Ohne Ihre Bestätigung kann es nicht benutzt werden.",
		},
	}}
}

func reset() kind {
	return kind{expires: true, words: map[string]words{
		english: {
			Subject:   "Choose a new password",
			Body:      "Somebody, probably you, asked for a new password for the account with this e-mail address.",
			Action:    "Choose a new password",
			Address:   englishAddress,
			Otherwise: "If it was not you, you do not have to do anything: your password stays as it is.",
		},
		french: {
			Subject:   "Choisissez un nouveau mot de passe",
			Body:      "Quelqu’un, sans doute vous, a demandé un nouveau mot de passe pour le compte associé à cette adresse e-mail.",
			Action:    "Choisir un nouveau mot de passe",
			Address:   frenchAddress,
			Otherwise: "Si ce n’était pas vous, vous n’avez rien à faire : votre mot de passe reste inchangé.",
		},
		german: {
			Subject:   "Wählen Sie ein neues Passwort",
			Body:      "Jemand, wahrscheinlich Sie selbst, hat ein neues Passwort für das Konto mit dieser E-Mail-Adresse angefordert.",
			Action:    "Neues Passwort wählen",
			Address:   germanAddress,
			Otherwise: "Wenn Sie das nicht waren, müssen Sie nichts tun: Ihr Passwort bleibt, wie es ist.",
		},
	}}
}

func deletion() kind {
	return kind{expires: true, words: map[string]words{
		english: {
			Subject:   "Confirm the deletion of your account",
			Body:      "You asked for your account to be deleted. Once you confirm, it is deleted for good and cannot be restored.",
			Action:    "Delete the account",
			Address:   englishAddress,
			Otherwise: "If you did not ask for this, do not follow the link, and change your password: somebody else may be signed in to your account.",
		},
		french: {
			Subject:   "Confirmez la suppression de votre compte",
			Body:      "Vous avez demandé la suppression de votre compte. Après votre confirmation, il sera supprimé définitivement et ne pourra pas être rétabli.",
			Action:    "Supprimer le compte",
			Address:   frenchAddress,
			Otherwise: "Si vous n’avez rien demandé, ne suivez pas ce lien et changez votre mot de passe : quelqu’un d’autre est peut-être connecté à votre compte.",
		},
		german: {
			Subject:   "Bestätigen Sie die Löschung Ihres Kontos",
			Body:      "Sie haben darum gebeten, Ihr Konto zu löschen. Sobald Sie bestätigen, wird es endgültig gelöscht und kann nicht wiederhergestellt werden.",
			Action:    "Konto löschen",
			Address:   germanAddress,
			Otherwise: "Wenn Sie nicht darum gebeten haben, folgen Sie dem Link nicht und ändern Sie Ihr Passwort: Vielleicht ist jemand anderes in Ihrem Konto angemeldet.",
		},
	}}
}

func known() kind {
	return kind{words: map[string]words{
		english: {
			Subject:   "You already have an account",
			Body:      "Somebody, probably you, tried to create an account with this e-mail address. There is one already: sign in, or choose a new password on the sign-in page.",
			Action:    "Sign in",
			Address:   englishAddress,
			Otherwise: "If it was not you, you do not have to do anything: nothing was changed.",
		},
		french: {
			Subject:   "Vous avez déjà un compte",
			Body:      "Quelqu’un, sans doute vous, a essayé de créer un compte avec cette adresse e-mail. Il en existe déjà un : connectez-vous, ou choisissez un nouveau mot de passe sur la page de connexion.",
			Action:    "Se connecter",
			Address:   frenchAddress,
			Otherwise: "Si ce n’était pas vous, vous n’avez rien à faire : rien n’a été modifié.",
		},
		german: {
			Subject:   "Sie haben bereits ein Konto",
			Body:      "Jemand, wahrscheinlich Sie selbst, wollte mit dieser E-Mail-Adresse ein Konto anlegen. Es gibt schon eines: Melden Sie sich an, oder wählen Sie auf der Anmeldeseite ein neues Passwort.",
			Action:    "Anmelden",
			Address:   germanAddress,
			Otherwise: "Wenn Sie das nicht waren, müssen Sie nichts tun: Es wurde nichts geändert.",
		},
	}}
}
