"""imbalanced-learn: what it does to the rows it does in the fit only, so its ensembles predict as their bases do."""

from __future__ import annotations

from ..registry import symbolic
from .calling import DIALECT
from .ensembles import ada_boost_classifier, bagging_classifier
from .forests import tree_classifier

_MODULE = "imblearn.ensemble."

symbolic(DIALECT, _MODULE + "BalancedRandomForestClassifier")(tree_classifier)
symbolic(DIALECT, _MODULE + "BalancedBaggingClassifier", _MODULE + "EasyEnsembleClassifier")(bagging_classifier)
symbolic(DIALECT, _MODULE + "RUSBoostClassifier")(ada_boost_classifier)
