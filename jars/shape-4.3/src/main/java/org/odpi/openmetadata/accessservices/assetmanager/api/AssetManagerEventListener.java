/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.accessservices.assetmanager.api;

/** The other kind of listener that a lineage connector can register (Egeria 4.3). */
public interface AssetManagerEventListener {}
